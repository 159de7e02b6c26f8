-- From requests and accounts to figures at three levels: each window of a queue, each queue, all.
-- Sums are of integers and quantiles are members of the distribution: nothing depends on an order.
CREATE TEMP TABLE keys AS SELECT DISTINCT queue_key, queue FROM requests;

CREATE TEMP TABLE told AS
SELECT queue, "window", measure, value, count, total
FROM accounts JOIN keys USING (queue_key)
UNION ALL
SELECT queue, "window", requests_of.measure, value, count, total
FROM requests JOIN requests_of USING (event)
WHERE value IS NOT NULL;

CREATE TEMP TABLE times AS
WITH levels AS (
    SELECT
        CASE grouping(queue, "window") WHEN 0 THEN 'window' WHEN 1 THEN 'queue' ELSE 'overall' END
            AS level,
        queue, "window", measure, value, sum(count)::BIGINT AS count, sum(total) AS total
    FROM told
    WHERE measure IN ('waiting', 'sojourn', 'send', 'receive', 'miss', 'settle')
    GROUP BY GROUPING SETS (
        (queue, "window", measure, value), (queue, measure, value), (measure, value)
    )
),
placed AS (
    SELECT
        *,
        sum(count) OVER (PARTITION BY level, queue, "window", measure ORDER BY value) AS upto,
        sum(count) OVER (PARTITION BY level, queue, "window", measure) AS counted
    FROM levels
)
SELECT
    level,
    queue,
    "window",
    measure,
    sum(total)::DOUBLE / sum(count)::DOUBLE AS mean_us,
    min(value) FILTER (upto * 100 >= counted * 50) AS p50_us,
    min(value) FILTER (upto * 100 >= counted * 95) AS p95_us,
    min(value) FILTER (upto * 100 >= counted * 99) AS p99_us
FROM placed
GROUP BY level, queue, "window", measure;

CREATE TEMP TABLE counters AS
WITH counted AS (
    SELECT queue, "window", measure, count
    FROM told
    WHERE measure NOT IN ('waiting', 'sojourn', 'send', 'receive', 'miss', 'settle')
    UNION ALL
    SELECT queue, "window", requests_of.requests, count FROM requests JOIN requests_of USING (event)
    UNION ALL
    SELECT queue, "window", requests_of.rows, requests.rows
    FROM requests JOIN requests_of USING (event)
    UNION ALL
    SELECT queue, "window", event, rows FROM requests WHERE event IN ('expired', 'redriven')
    UNION ALL
    SELECT queue, "window", 'unnamed', unnamed FROM requests WHERE event <> 'missed'
)
SELECT
    CASE grouping(queue, "window") WHEN 0 THEN 'window' WHEN 1 THEN 'queue' ELSE 'overall' END
        AS level,
    queue, "window", measure, sum(count)::BIGINT AS count
FROM counted
GROUP BY GROUPING SETS ((queue, "window", measure), (queue, measure), (measure))
HAVING level <> 'window' OR "window" IS NOT NULL;

-- The number in a queue, from arrivals and departures alone. What was there before the trace
-- began is what was seen without a send, or as much as keeps the number from falling below zero.
CREATE TEMP TABLE flow AS
WITH moved AS (
    SELECT
        queue,
        "window",
        coalesce(sum(rows) FILTER (event = 'sent'), 0) AS arrived,
        coalesce(sum(rows) FILTER (event IN ('settled', 'expired', 'redriven')), 0) AS gone,
        coalesce(sum(offset_us) FILTER (event = 'sent'), 0) AS arrived_us,
        coalesce(sum(offset_us) FILTER (event IN ('settled', 'expired', 'redriven')), 0)
            AS gone_us,
        min(first_us) AS first_us,
        max(last_us) AS last_us
    FROM requests
    GROUP BY queue, "window"
),
balanced AS (
    SELECT
        *,
        sum(arrived - gone) OVER (PARTITION BY queue ORDER BY "window") AS balance,
        min(first_us) OVER (PARTITION BY queue) AS began_us,
        max(last_us) OVER (PARTITION BY queue) AS ended_us
    FROM moved
)
SELECT
    balanced.*,
    greatest(coalesce(unsent.count, 0), -min(balance) OVER (PARTITION BY balanced.queue)) AS before,
    greatest(balanced."window" * {window_us}, began_us) AS from_us,
    least((balanced."window" + 1) * {window_us}, ended_us) AS to_us
FROM balanced
LEFT JOIN counters AS unsent
    ON unsent.level = 'queue' AND unsent.measure = 'unsent' AND unsent.queue = balanced.queue;

CREATE TEMP TABLE spans AS
SELECT
    'window' AS level,
    queue,
    "window",
    from_us AS first_us,
    to_us AS last_us,
    (before + balance - arrived + gone) * (to_us - from_us)
        + (arrived - gone) * (to_us - "window" * {window_us}) - arrived_us + gone_us AS area_us,
    before + balance AS number_last,
    arrived
FROM flow
UNION ALL
SELECT
    'queue',
    queue,
    NULL,
    any_value(began_us),
    any_value(ended_us),
    any_value(before * (ended_us - began_us)) + sum(
        (arrived - gone) * (ended_us - "window" * {window_us}) - arrived_us + gone_us
    ),
    any_value(before) + sum(arrived - gone),
    sum(arrived)
FROM flow
GROUP BY queue
UNION ALL
SELECT
    'overall',
    NULL,
    NULL,
    any_value(edges.first_us),
    any_value(edges.last_us),
    any_value(edges.before * (edges.last_us - edges.first_us)) + sum(
        (arrived - gone) * (edges.last_us - "window" * {window_us}) - arrived_us + gone_us
    ),
    any_value(edges.before) + sum(arrived - gone),
    sum(arrived)
FROM flow, (
    SELECT
        (SELECT sum(before) FROM (SELECT DISTINCT queue, before FROM flow)) AS before,
        min(began_us) AS first_us,
        max(ended_us) AS last_us
    FROM flow
) AS edges
HAVING count(*) > 0;

CREATE TEMP TABLE figures AS
WITH counts AS (
    PIVOT counters
    ON measure IN (
        'sent', 'receives', 'received', 'settled', 'missed', 'expired', 'redriven', 'unnamed',
        'messages', 'absent', 'corrupted', 'unsent', 'streams', 'renumbered',
        'ordered', 'out_of_order', 'displacement',
        'window_ordered', 'window_out_of_order', 'window_displacement',
        'sends', 'hits', 'misses', 'settles'
    )
    USING coalesce(sum(count), 0)::BIGINT
    GROUP BY level, queue, "window"
),
quantiles AS (
    PIVOT times
    ON measure IN ('send', 'receive', 'miss', 'settle', 'waiting', 'sojourn')
    USING
        any_value(mean_us) AS mean_us,
        any_value(p50_us) AS p50_us,
        any_value(p95_us) AS p95_us,
        any_value(p99_us) AS p99_us
    GROUP BY level, queue, "window"
)
SELECT
    spans.level,
    spans.queue,
    spans."window" * {window_us} AS window_start_us,
    first_us,
    last_us,
    (last_us - first_us) / 1e6 AS seconds,
    counts.* EXCLUDE (level, queue, "window"),
    receives - received AS duplicates,
    absent + corrupted AS lost,
    (receives - received) / nullif(messages, 0) AS duplication_rate,
    (absent + corrupted) / nullif(messages, 0) AS loss_rate,
    out_of_order / nullif(ordered, 0) AS out_of_order_rate,
    displacement / nullif(ordered, 0) AS average_displacement,
    window_out_of_order / nullif(window_ordered, 0) AS window_out_of_order_rate,
    window_displacement / nullif(window_ordered, 0) AS window_average_displacement,
    hits / nullif(hits + misses, 0) AS hit_rate,
    misses / nullif(hits + misses, 0) AS miss_rate,
    receives / nullif(hits, 0) AS messages_per_hit,
    sent / nullif(seconds, 0) AS sent_rate,
    receives / nullif(seconds, 0) AS received_rate,
    settled / nullif(seconds, 0) AS settled_rate,
    quantiles.* EXCLUDE (level, queue, "window"),
    area_us::DOUBLE / nullif(last_us - first_us, 0) AS number_mean,
    number_last::BIGINT AS number_last,
    area_us::DOUBLE / nullif(arrived * sojourn_mean_us, 0) AS little_ratio
FROM spans
JOIN counts
    ON counts.level = spans.level
    AND counts.queue IS NOT DISTINCT FROM spans.queue
    AND counts."window" IS NOT DISTINCT FROM spans."window"
LEFT JOIN quantiles
    ON quantiles.level = spans.level
    AND quantiles.queue IS NOT DISTINCT FROM spans.queue
    AND quantiles."window" IS NOT DISTINCT FROM spans."window";
