-- Events joined to requests, then to a distribution of response times. A connection makes one
-- request at a time, so its address and the microsecond of the answer name one.
WITH requests AS (
    SELECT
        event,
        queue,
        front_end,
        moment_us // {window_us} AS "window",
        client,
        answered_us,
        max(queue_key) AS queue_key,
        max(front_end_key) AS front_end_key,
        max(latency_us) AS latency_us,
        count(*) AS rows,
        count(*) - count(message_id) AS unnamed,
        sum(moment_us % {window_us}) AS offset_us,
        min(moment_us) AS first_us,
        max(moment_us) AS last_us
    FROM events
    GROUP BY event, queue, front_end, "window", client, answered_us
)
SELECT
    event,
    queue,
    front_end,
    "window",
    {latency} AS value,
    max(queue_key) AS queue_key,
    max(front_end_key) AS front_end_key,
    count(*) AS count,
    sum(latency_us)::BIGINT AS total,
    sum(rows)::BIGINT AS rows,
    sum(unnamed)::BIGINT AS unnamed,
    sum(offset_us)::BIGINT AS offset_us,
    min(first_us) AS first_us,
    max(last_us) AS last_us
FROM requests
GROUP BY event, queue, front_end, "window", value;
