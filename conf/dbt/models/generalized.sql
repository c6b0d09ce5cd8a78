-- The table that may be published: each age as an interval, the last one from 60 on.
{% set width = var('width') %}
with people as (
    select *, least(age - age % {{ width }}, 60) as low
    from read_parquet('{{ env_var("TCLOSE_PEOPLE", "../../build/demo/people.parquet") }}')
)
select
    case low when 60 then '>=60' else '[' || low || ', ' || low + {{ width }} - 1 || ']' end as age,
    sex,
    disease
from people
