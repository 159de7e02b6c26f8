-- Rows that are not believed.
CREATE VIEW disbelieved AS
SELECT filename AS file, {reason} AS reason, 1::BIGINT AS rows, ts_us, event, queue, message_id
FROM traces
WHERE ({reason}) IS NOT NULL;
