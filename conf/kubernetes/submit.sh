#!/usr/bin/env bash
# A release on Kubernetes. It ends with the driver's exit code: 0 done, 1 guarantee does not hold, 2 wrong input or
# settings, 3 request cannot be met. Prepare the namespace once (the secret comes from a file that only you can read,
# never from an argument):
#
#     kubectl create serviceaccount tclose
#     kubectl create rolebinding tclose --clusterrole=edit --serviceaccount="$NAMESPACE:tclose"
#     kubectl create secret generic tclose --from-file=secret=secret.txt
#     kubectl create configmap tclose-run --from-file=run.yaml --from-file=hierarchies/
set -euo pipefail
: "${MASTER:?such as k8s://https://host:6443}" "${IMAGE:?the image of conf/kubernetes/Dockerfile}"
NAMESPACE="${NAMESPACE:-default}"
POD="tclose-release-$(date -u +%Y%m%d-%H%M%S)"
HERE="$(dirname "$0")"

spark-submit --master "$MASTER" --deploy-mode cluster --name tclose-release \
    --conf spark.kubernetes.namespace="$NAMESPACE" \
    --conf spark.kubernetes.container.image="$IMAGE" \
    --conf spark.kubernetes.authenticate.driver.serviceAccountName=tclose \
    --conf spark.kubernetes.driver.pod.name="$POD" \
    --conf spark.kubernetes.driver.podTemplateFile="$HERE/pod.yaml" \
    --conf spark.kubernetes.executor.podTemplateFile="$HERE/pod.yaml" \
    --conf spark.kubernetes.driver.secretKeyRef.TCLOSE_SECRET=tclose:secret \
    --conf spark.driver.memory=4g \
    --conf spark.executor.instances="${EXECUTORS:-4}" \
    --conf spark.executor.cores=2 \
    --conf spark.executor.memory=4g \
    --conf spark.executor.memoryOverheadFactor=0.6 \
    --conf spark.log.level=OFF \
    --conf spark.ui.enabled=false \
    --conf spark.authenticate=true \
    --conf spark.network.crypto.enabled=true \
    --conf spark.io.encryption.enabled=true \
    local:///opt/tclose/jobs/release.py --config /etc/tclose/run.yaml "$@"

exit "$(kubectl get pod "$POD" --namespace "$NAMESPACE" \
    --output 'jsonpath={.status.containerStatuses[0].state.terminated.exitCode}')"
