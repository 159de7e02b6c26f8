-- One row for each answered request, and from when the front end had it in hand: a receive may
-- have been parked, and counts from its lease.
SELECT
    front_end,
    event,
    latency_us,
    CASE event WHEN 'leased' THEN min(moment_us) ELSE asked_us END AS began_us,
    answered_us
FROM events
WHERE event IN ('sent', 'leased', 'settled') AND asked_us IS NOT NULL
GROUP BY front_end, client, event, latency_us, asked_us, answered_us
