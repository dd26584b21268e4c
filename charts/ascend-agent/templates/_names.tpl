{{/* Names and labels; those of another plugin's DaemonSet where this one takes its place. */}}

{{/* A name as long as one may be, which may end neither with a dash nor with a dot. */}}
{{- define "ascend-agent.cut" -}}
{{- regexReplaceAll "[-.]+$" (trunc 63 .) "" -}}
{{- end -}}

{{- define "ascend-agent.name" -}}
{{- include "ascend-agent.cut" (default .Chart.Name .Values.nameOverride) -}}
{{- end -}}

{{- define "ascend-agent.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- include "ascend-agent.cut" .Values.fullnameOverride -}}
{{- else if contains (include "ascend-agent.name" .) .Release.Name -}}
{{- include "ascend-agent.cut" .Release.Name -}}
{{- else -}}
{{- include "ascend-agent.cut" (printf "%s-%s" .Release.Name (include "ascend-agent.name" .)) -}}
{{- end -}}
{{- end -}}

{{- define "ascend-agent.daemonset" -}}
{{- if eq .Values.replaces "mindcluster" -}}
ascend-device-plugin-daemonset
{{- else if eq .Values.replaces "hami" -}}
hami-ascend-device-plugin
{{- else -}}
{{- include "ascend-agent.fullname" . -}}
{{- end -}}
{{- end -}}

{{/* Our own labels: on every object, and what Service and PodMonitor select. */}}
{{- define "ascend-agent.ownLabels" -}}
app.kubernetes.io/name: {{ include "ascend-agent.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "ascend-agent.labels" -}}
{{ include "ascend-agent.ownLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* What the DaemonSet selects: the other plugin's labels let it adopt that plugin's pods. */}}
{{- define "ascend-agent.selector" -}}
{{- if eq .Values.replaces "mindcluster" -}}
name: ascend-device-plugin-ds
{{- else if eq .Values.replaces "hami" -}}
app.kubernetes.io/component: hami-ascend-device-plugin
hami.io/webhook: ignore
{{- else -}}
{{- include "ascend-agent.ownLabels" . -}}
{{- end -}}
{{- end -}}

{{- define "ascend-agent.podLabels" -}}
{{- $ours := merge (include "ascend-agent.selector" . | fromYaml) (include "ascend-agent.ownLabels" . | fromYaml) (dict "hami.io/webhook" "ignore") -}}
{{- toYaml (merge $ours (default dict .Values.podLabels)) -}}
{{- end -}}

{{- define "ascend-agent.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "ascend-agent.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "ascend-agent.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}
