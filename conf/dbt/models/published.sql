-- depends_on: {{ ref('audited') }}
{{ config(materialized='external', location=env_var('TCLOSE_PUBLISHED', 'target/published.parquet')) }}
select * from {{ ref('generalized') }}
