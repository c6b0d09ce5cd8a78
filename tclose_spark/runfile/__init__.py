"""The run file: YAML to a frozen, validated ReleaseSpec."""
