-- What became of the deliveries of each queue; what is open at the end is not known.
SELECT
    queue,
    count(*) FILTER (event = 'leased' AND next_event = 'settled' AND next_count = receive_count)
        AS settled,
    count(*) FILTER (event = 'leased' AND next_event IN ('leased', 'redriven')) AS failed,
    count(*) FILTER (event = 'leased') AS leased,
    min(moment_us) AS first_us,
    max(moment_us) AS last_us
FROM steps
GROUP BY queue
