cd /tmp/w/int; export PYTHONPATH=$PWD SPARK_LOCAL_IP=127.0.0.1 TCLOSE_DATA=/work/shared/data
.venv/bin/python -m pytest -q tests/promise/test_kept_versions.py tests/damages/test_finished_outputs.py tests/damages/test_staged_releases.py > /tmp/w/int1.log 2>&1
