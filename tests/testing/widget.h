#pragma once
// The Widget of api-machinery C.2: a custom kind with each topology that server-side apply knows.

namespace yard {

inline constexpr const char* kWidgetDefinition = R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.ex.io}
spec:
  group: ex.io
  scope: Namespaced
  names: {kind: Widget, plural: widgets, shortNames: [wi]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}}
    additionalPrinterColumns: [{name: Replicas, type: integer, jsonPath: .spec.replicas}]
    selectableFields: [{jsonPath: .spec.name}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [name]
            properties:
              name: {type: string, maxLength: 5}
              replicas: {type: integer, default: 1, minimum: 0}
              ports:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [p]
                items: {type: object, required: [p], properties: {p: {type: integer}, q: {type: string, default: z}}}
              tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status:
            type: object
            properties:
              replicas: {type: integer}
              selector: {type: string}
              conditions: {type: array, items: {type: object, properties: {type: {type: string}}}}
)";

}  // namespace yard
