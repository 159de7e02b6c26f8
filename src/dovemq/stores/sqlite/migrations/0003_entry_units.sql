-- What a message weighs, in units of 64 bytes, so that sizes are known without reading bodies. The
-- record of an older message, which is at hand, is that weight to within a unit or two.
ALTER TABLE entry ADD COLUMN units INTEGER NOT NULL DEFAULT 2;

UPDATE entry SET units = coalesce(
    (SELECT (length(body.record) + 127) / 64 FROM body WHERE body.sequence = entry.sequence), 2
);
