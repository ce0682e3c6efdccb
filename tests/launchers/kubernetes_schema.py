"""usage: kubernetes_schema.py > kubernetes_schema.json

Makes the schema that kubernetes_test.py compares manifests with, of what these packages publish:

    pip install kubernetes-validate==1.37.0 kubeflow-training==1.9.4 kubeflow-trainer-api==2.3.0

An object has all its property names with their types. Objects that no manifest of ours goes into
are cut to their type.
"""

import json
import pathlib
import re
import typing

import kubeflow.training.models as training
import kubernetes_validate
import kubeflow_trainer_api.models as trainer

KUBERNETES = "v1.37.0-local-strict"
CORE = ("api.batch.v1.Job", "api.batch.v1.JobSpec", "api.batch.v1.PodFailurePolicy",
        "api.batch.v1.PodFailurePolicyRule",
        "api.batch.v1.PodFailurePolicyOnExitCodesRequirement",
        "api.batch.v1.PodFailurePolicyOnPodConditionsPattern",
        "api.core.v1.Container", "api.core.v1.EmptyDirVolumeSource", "api.core.v1.EnvVar",
        "api.core.v1.EnvVarSource", "api.core.v1.ObjectFieldSelector",
        "api.core.v1.PersistentVolumeClaimVolumeSource", "api.core.v1.PodSpec",
        "api.core.v1.PodTemplateSpec", "api.core.v1.ResourceRequirements", "api.core.v1.Service",
        "api.core.v1.ServiceSpec", "api.core.v1.Volume", "api.core.v1.VolumeMount",
        "apimachinery.pkg.apis.meta.v1.ObjectMeta")
TRAINING = ("PyTorchJob", "PyTorchJobSpec", "ReplicaSpec", "RunPolicy")
TRAINER = ("TrainJob", "TrainJobSpec", "Trainer", "RuntimeRef")
POD_TYPES = {"V1ObjectMeta": "ObjectMeta", "V1PodTemplateSpec": "PodTemplateSpec"}


def short(name):
    return name.rsplit(".", 1)[-1]


def reduced(schema, kept):
    """One property of Kubernetes's schema: a reference, a list or a type."""
    if "$ref" in schema:
        name = short(schema["$ref"])
        return {"ref": name} if name in kept else {}
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    kinds = [one for one in kinds if one not in (None, "null")]
    out = {"type": kinds} if kinds else {}
    if kinds == ["array"]:
        out["items"] = reduced(schema.get("items", {}), kept)
    if schema.get("enum"):
        out["enum"] = [one for one in schema["enum"] if one is not None]
    return out


def of_kubernetes():
    folder = pathlib.Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema"
    file = folder / KUBERNETES / "_definitions.json"
    definitions = json.loads(file.read_text())["$defs"]
    kept = {short(name) for name in CORE}
    out = {}
    for name in CORE:
        schema = definitions["io.k8s." + name]
        out[short(name)] = {
            "required": schema.get("required", []),
            "properties": {key: reduced(value, kept)
                           for key, value in schema["properties"].items()}}
    return out


def of_training():
    """Their models have types as text: "str", "list[str]", "dict(str, V1X)"."""
    out = {}
    for name in TRAINING:
        model = getattr(training, "KubeflowOrgV1" + name)
        properties = {}
        for field, kind in model.openapi_types.items():
            values = re.fullmatch(r"dict\(str, (\w+)\)", kind)
            kind = values.group(1) if values else kind
            target = POD_TYPES.get(kind, kind.replace("KubeflowOrgV1", ""))
            plain = {"str": ["string"], "int": ["integer"], "bool": ["boolean"]}.get(kind)
            one = {"type": plain} if plain else \
                {"ref": target} if target in TRAINING or kind in POD_TYPES else {}
            properties[model.attribute_map[field]] = {"values": one} if values else one
        out[name] = {"required": [], "properties": properties}
    return out


def type_of(annotation):
    arguments = [one for one in typing.get_args(annotation) if one is not type(None)]
    if typing.get_origin(annotation) in (list, typing.List):
        return {"type": ["array"], "items": type_of(arguments[0])}
    if typing.get_origin(annotation) is typing.Annotated:
        return type_of(arguments[0])
    if arguments:
        return type_of(arguments[0])
    for kind, name in ((bool, "boolean"), (int, "integer"), (str, "string")):
        if isinstance(annotation, type) and issubclass(annotation, kind):
            return {"type": [name]}
    name = getattr(annotation, "__name__", "")
    target = re.sub("^(TrainerV1alpha1|IoK8sApiCoreV1|IoK8sApimachineryPkgApisMetaV1)", "", name)
    return {"ref": target} if target in TRAINER or any(short(one) == target for one in CORE) else {}


def of_trainer():
    out = {}
    for name in TRAINER:
        fields = getattr(trainer, "TrainerV1alpha1" + name).model_fields
        out[name] = {
            "required": [field.alias or key for key, field in fields.items()
                         if field.is_required()],
            "properties": {field.alias or key: type_of(field.annotation)
                           for key, field in fields.items()}}
    return out


def main():
    schema = {
        "versions": {"Kubernetes": KUBERNETES.split("-")[0], "kubeflow-training": "1.9.4",
                     "kubeflow-trainer-api": "2.3.0"},
        "made by": "tests/launchers/kubernetes_schema.py",
        "definitions": {**of_kubernetes(), **of_training(), **of_trainer()}}
    print(json.dumps(schema, indent=1))


main()
