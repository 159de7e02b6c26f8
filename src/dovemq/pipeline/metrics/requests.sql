-- Events to requests, and requests with the same response time, to four digits, taken together.
-- A connection makes one request at a time, so its client and the time of the answer name one.
CREATE TEMP TABLE answers AS
SELECT
    event,
    queue,
    "window",
    {latency} AS value,
    count(*) AS requests,
    sum(latency_us) AS total,
    sum(rows) AS rows,
    sum(unnamed) AS unnamed,
    sum(offset_us) AS offset_us,
    min(first_us) AS first_us,
    max(last_us) AS last_us
FROM (
    SELECT
        event,
        queue,
        moment_us // {window_us} AS "window",
        max(latency_us) AS latency_us,
        count(*) AS rows,
        count(*) - count(message_id) AS unnamed,
        sum(moment_us % {window_us}) AS offset_us,
        min(moment_us) AS first_us,
        max(moment_us) AS last_us
    FROM events
    GROUP BY event, queue, front_end, "window", client, answered_us
)
GROUP BY event, queue, "window", value;
