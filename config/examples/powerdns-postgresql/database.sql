-- Makes or removes the database of a job, and changes nothing if that is done already. psql reads
-- this file; celld's document is on standard input, and its answer goes to standard output. The
-- name is CUSTOMER/ID, so that no customer can reach the database of another; names of customers
-- have no slash. psql quotes the name (:"name", :'name'), so it can be any text. PostgreSQL would
-- cut a name of more than 63 bytes, and two databases might then be one.
\set document `cat`
SELECT job ->> 'customer' || '/' || (job -> 'entity' ->> 'id') AS name,
       job ->> 'action' = 'create' AS is_create, job ->> 'action' = 'delete' AS is_delete
FROM (SELECT :'document'::jsonb AS job) AS document \gset
SELECT octet_length(:'name') > 63 AS is_too_long \gset
\if :is_too_long
  DO 'BEGIN RAISE ''the name of the database would have more than 63 bytes''; END';
\elif :is_create
  SELECT format('CREATE DATABASE %I', :'name')
  WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = :'name') \gexec
\elif :is_delete
  DROP DATABASE IF EXISTS :"name" WITH (FORCE);
\else
  DO 'BEGIN RAISE ''unknown action''; END';
\endif
SELECT json_build_object('properties', json_build_object('database', :'name'));
