-- Events joined to requests. A connection makes one request at a time, so its address and the
-- microsecond of the answer name one. Parts of a request that are found apart add up.
SELECT
    event,
    queue,
    front_end,
    moment_us // {window_us} AS "window",
    client,
    answered_us,
    -- Those that make one distribution are to come together, so that it is handed on short.
    (hash(queue || event || "window") >> 1)::BIGINT AS request_key,
    any_value(queue_key) AS queue_key,
    any_value(front_end_key) AS front_end_key,
    max(latency_us) AS latency_us,
    count(*) AS rows,
    count(*) - count(message_id) AS unnamed,
    sum(moment_us % {window_us})::BIGINT AS offset_us,
    min(moment_us) AS first_us,
    max(moment_us) AS last_us
FROM events
GROUP BY event, queue, front_end, "window", client, answered_us
