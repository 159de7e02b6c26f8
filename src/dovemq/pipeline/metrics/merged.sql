-- Requests of which several tasks have found parts.
SELECT
    event,
    queue,
    front_end,
    "window",
    client,
    answered_us,
    any_value(queue_key) AS queue_key,
    any_value(front_end_key) AS front_end_key,
    max(latency_us) AS latency_us,
    sum(rows) AS rows,
    sum(unnamed) AS unnamed,
    sum(offset_us) AS offset_us,
    min(first_us) AS first_us,
    max(last_us) AS last_us
FROM parts
GROUP BY event, queue, front_end, "window", client, answered_us
