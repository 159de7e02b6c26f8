-- Every kind of time in its bin: how many, in how many independent observations, and their sum.
-- An empty stream is all of the place.
WITH sends AS (
    SELECT
        queue,
        coalesce(job_type, '') AS job_type,
        moment_us - lag(moment_us) OVER (PARTITION BY queue ORDER BY moment_us) AS since_us,
        moment_us - lag(moment_us) OVER (
            PARTITION BY queue, coalesce(job_type, '') ORDER BY moment_us
        ) AS since_same_us
    FROM events
    WHERE event = 'sent'
),
observed AS (
    SELECT 'arrival' AS kind, queue AS place, '' AS stream, since_us AS time_us, 1 AS times
    FROM sends
    UNION ALL
    SELECT 'job_arrival', queue, job_type, since_same_us, 1
    FROM sends
    UNION ALL
    SELECT 'occupancy', queue, '', (asked_next_us - leased_us) // messages, messages
    FROM visits
    WHERE messages > 0
    UNION ALL
    SELECT 'work', queue, '', next_us - moment_us, 1
    FROM steps
    WHERE event = 'leased' AND next_event = 'settled' AND next_count = receive_count
    UNION ALL
    SELECT 'waiting', queue, '', moment_us - sent_us, 1
    FROM steps
    WHERE event = 'leased' AND receive_count = 1
    UNION ALL
    SELECT 'sojourn', queue, '', moment_us - sent_us, 1
    FROM steps
    WHERE event = 'settled'
    UNION ALL
    SELECT 'deliveries', queue, '', receive_count, 1
    FROM steps
    WHERE event IN ('settled', 'redriven') AND receive_count > 0
    UNION ALL
    SELECT 'latency', front_end, event, latency_us, 1
    FROM requests
),
bounded AS (
    SELECT *, least(greatest(time_us, 0), $time_us_max) AS bounded_us
    FROM observed
    WHERE time_us IS NOT NULL
),
raised AS (
    SELECT
        *,
        -- The half keeps a power of two from the edge of its logarithm.
        CAST(
            floor(log2(greatest(bounded_us, $per_doubling) + 0.5)) AS BIGINT
        ) - $bits AS doublings
    FROM bounded
)
SELECT
    kind,
    place,
    stream,
    CASE
        WHEN bounded_us < $per_doubling THEN bounded_us
        ELSE doublings * $per_doubling + (bounded_us >> doublings)
    END AS bin,
    CAST(sum(times) AS BIGINT) AS count,
    count(*) AS independent,
    CAST(sum(times * bounded_us) AS BIGINT) AS sum_us
FROM raised
GROUP BY kind, place, stream, bin
