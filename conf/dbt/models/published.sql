-- depends_on: {{ ref('audited') }}
{{ config(materialized='external', location='target/published.parquet') }}
select * from {{ ref('generalized') }}
