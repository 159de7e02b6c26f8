-- Slices of a front end's time: requests, the sum of their latencies, and how long it had any.
WITH ordered AS (
    SELECT
        front_end,
        event,
        latency_us,
        began_us,
        answered_us,
        coalesce(
            max(answered_us) OVER (
                PARTITION BY front_end
                ORDER BY began_us, answered_us, event, latency_us
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ),
            began_us
        ) AS busy_until_us,
        min(began_us) OVER (PARTITION BY front_end) AS first_us,
        max(answered_us) OVER (PARTITION BY front_end) AS last_us
    FROM requests
)
SELECT
    front_end,
    first_us,
    last_us,
    (began_us - first_us) * $slices // (last_us - first_us + 1) AS slice,
    event,
    count(*) AS requests,
    CAST(sum(latency_us) AS BIGINT) AS latency_us,
    CAST(sum(greatest(0, answered_us - greatest(began_us, busy_until_us))) AS BIGINT) AS busy_us
FROM ordered
GROUP BY front_end, first_us, last_us, slice, event
