{#- Requirements of releases as generic tests, in the SQL of every adapter. They show numbers of rows, never a label.
    An empty table fails. A missing label is a value. -#}

{% test tclose_k_anonymity(model, quasi_identifiers, k) %}
-- A row for each class of fewer than k rows.
with classes as (select count(*) as n from {{ model }} group by {{ quasi_identifiers | join(', ') }})
select n from classes where n < {{ k }}
union all
select n from (select count(*) as n from {{ model }}) as whole_table where n = 0
{% endtest %}

{% test tclose_t_closeness(model, column_name, quasi_identifiers, t) %}
-- A row for each class that is farther than t from the table by equal distance, half the sum of |p - q| over all values,
-- in integers: p = n / class_rows, q = value_rows / total_rows. t is a decimal, exact as written.
{%- set digits = (t | string).split('.') -%}
{%- set unit = 10 ** (digits[1] | length if digits | length == 2 else 0) -%}
{%- set quasi = quasi_identifiers | join(', ') %}
with cells as (
    select
        dense_rank() over (order by {{ quasi }}) as class_id,
        dense_rank() over (order by {{ column_name }}) as value_id,
        count(*) as n
    from {{ model }}
    group by {{ quasi }}, {{ column_name }}
),
classes as (select class_id, sum(n) as class_rows from cells group by class_id),
all_values as (select value_id, sum(n) as value_rows from cells group by value_id),
whole_table as (select count(*) as total_rows from {{ model }})
select classes.class_id, max(class_rows) as n
from classes
cross join all_values
cross join whole_table
left join cells on cells.class_id = classes.class_id and cells.value_id = all_values.value_id
group by classes.class_id
having {{ unit }} * sum(abs(coalesce(n, 0) * total_rows - value_rows * class_rows))
    > 2 * {{ digits | join | int }} * max(class_rows * total_rows)
union all
select 0, total_rows from whole_table where total_rows = 0
{% endtest %}
