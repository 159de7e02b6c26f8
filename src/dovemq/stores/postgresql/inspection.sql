-- What `dovemq doctor` asks. Nothing here writes.

-- name: find_facts
SELECT current_setting('server_version'),
       current_setting('fsync'),
       current_setting('full_page_writes'),
       current_setting('synchronous_commit'),
       current_setting('synchronous_standby_names'),
       (SELECT count(*) FROM pg_stat_replication)

-- name: find_time
SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint

-- name: find_missing_rights
SELECT lower(needed.privilege) || ' on ' || tables.relname
FROM pg_class AS tables
JOIN pg_namespace AS schemas ON schemas.oid = tables.relnamespace
CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS needed (privilege)
WHERE schemas.nspname = $1 AND tables.relkind = 'r' AND tables.relname <> 'schema_version'
  AND NOT has_table_privilege(tables.oid, needed.privilege)
ORDER BY tables.relname, needed.privilege

-- name: may_create
SELECT CASE WHEN to_regnamespace($1) IS NULL
            THEN has_database_privilege(current_database(), 'CREATE')
            ELSE has_schema_privilege($1, 'CREATE')
       END
