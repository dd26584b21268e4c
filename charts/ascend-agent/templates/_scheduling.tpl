{{/* On which nodes: those that another plugin served, those with a known label, as told. */}}

{{- define "ascend-agent.nodeSelector" -}}
{{- if .Values.nodeSelector -}}
{{- toYaml .Values.nodeSelector -}}
{{- else if eq .Values.replaces "mindcluster" -}}
workerselector: dls-worker-node
{{- else if eq .Values.replaces "hami" -}}
ascend: "on"
{{- end -}}
{{- end -}}

{{- define "ascend-agent.affinity" -}}
{{- if .Values.affinity -}}
{{- toYaml .Values.affinity -}}
{{- else -}}
{{- include "ascend-agent.nodeAffinity" . -}}
{{- if .Values.avoidPeers }}
{{ include "ascend-agent.podAntiAffinity" . -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "ascend-agent.nodeAffinity" -}}
{{- $byLabel := and (not (include "ascend-agent.nodeSelector" .)) .Values.nodesWithAnyLabel -}}
{{- if or $byLabel (eq .Values.replaces "mindcluster") -}}
nodeAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    nodeSelectorTerms:
      {{- if eq .Values.replaces "mindcluster" }}
      - matchExpressions:
          - {key: servertype, operator: NotIn, values: [soc]}
      {{- else }}
      {{- range .Values.nodesWithAnyLabel }}
      - matchExpressions:
          - key: {{ .key }}
            operator: In
            values: [{{ .value | quote }}]
      {{- end }}
      {{- end }}
{{- end -}}
{{- end -}}

{{/* Two plugins on one node offer the same NPUs twice. The one being replaced is not avoided. */}}
{{- define "ascend-agent.podAntiAffinity" -}}
podAntiAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    {{- if ne .Values.replaces "mindcluster" }}
    - topologyKey: kubernetes.io/hostname
      namespaceSelector: {}
      labelSelector:
        matchLabels:
          name: ascend-device-plugin-ds
    {{- end }}
    {{- if ne .Values.replaces "hami" }}
    - topologyKey: kubernetes.io/hostname
      namespaceSelector: {}
      labelSelector:
        matchLabels:
          app.kubernetes.io/component: hami-ascend-device-plugin
    {{- end }}
{{- end -}}
