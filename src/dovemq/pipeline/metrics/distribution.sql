-- Requests to distributions of their response times.
SELECT
    event,
    queue,
    front_end,
    "window",
    {latency} AS value,
    any_value(queue_key) AS queue_key,
    any_value(front_end_key) AS front_end_key,
    count(*) AS count,
    sum(latency_us)::BIGINT AS total,
    sum(rows)::BIGINT AS rows,
    sum(unnamed)::BIGINT AS unnamed,
    sum(offset_us)::BIGINT AS offset_us,
    min(first_us) AS first_us,
    max(last_us) AS last_us
FROM ({requests})
GROUP BY event, queue, front_end, "window", value
