-- Makes or removes the database of a job, and changes nothing if that is done already. psql reads
-- this file; celld's document is on standard input, and its answer goes to standard output. psql
-- quotes the name (:"name", :'name'), so it can be any text of at most 63 bytes.
\set document `cat`
SELECT job -> 'entity' ->> 'id' AS name,
       job ->> 'action' = 'create' AS is_create, job ->> 'action' = 'delete' AS is_delete
FROM (SELECT :'document'::jsonb AS job) AS document \gset
\if :is_create
  SELECT format('CREATE DATABASE %I', :'name')
  WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = :'name') \gexec
\elif :is_delete
  DROP DATABASE IF EXISTS :"name" WITH (FORCE);
\else
  DO 'BEGIN RAISE ''unknown action''; END';
\endif
SELECT json_build_object('properties', json_build_object('database', :'name'));
