#!/bin/sh
# Stands for a coding agent: reads its prompt, and says that it did what its order asks for.
cat >/dev/null
case ${ANTHILL_PURPOSE:-} in
plan)
    echo '{"status": "PLAN", "mode": "simple", "all_tasks": [{"id": "T1", "description": "all of it"}],
        "task_groups": [{"id": "A", "name": "All of it", "tasks": ["T1"]}]}' | tr -d '\n' ;;
work) echo '{"status": "READY_FOR_QA", "summary": "made", "files_modified": ["a.py"]}' ;;
test) echo '{"status": "PASS", "test_results": {"e2e_tests": "3/3 passed"}}' ;;
review) echo '{"status": "APPROVED", "feedback": "good"}' ;;
final_check)
    echo '{"status": "COMPLETE", "evidence": [{"requirement": "all of it", "met": true, "evidence": "tests/run.sh: 3/3 passed"}]}' ;;
*) echo '{"status": "done", "summary": "did it"}' ;;
esac
