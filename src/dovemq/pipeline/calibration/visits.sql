-- Receives that brought messages: whose, for how many, and when that client asked again.
SELECT
    queue,
    client,
    leased_us,
    messages,
    asked_us,
    answered_us,
    lead(asked_us) OVER (
        PARTITION BY front_end, client ORDER BY asked_us, answered_us, queue
    ) AS asked_next_us
FROM (
    SELECT
        front_end,
        client,
        queue,
        asked_us,
        answered_us,
        min(moment_us) AS leased_us,
        count(*) FILTER (event = 'leased') AS messages
    FROM events
    WHERE event IN ('leased', 'missed') AND asked_us IS NOT NULL
    GROUP BY front_end, client, queue, asked_us, answered_us
)
