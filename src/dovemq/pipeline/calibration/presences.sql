-- From when to when each client asked a queue for messages.
SELECT
    queue,
    client,
    CAST(sum(messages) AS BIGINT) AS messages,
    min(asked_us) AS first_us,
    max(coalesce(asked_next_us, answered_us)) AS last_us
FROM visits
GROUP BY queue, client
