{{/* The container's privileges; SECURITY.md has the reason of each line. */}}

{{- define "ascend-agent.securityContext" -}}
runAsUser: 0
runAsGroup: 0
readOnlyRootFilesystem: true
{{- if include "ascend-agent.privileged" . }}
privileged: true
{{- else }}
privileged: false
allowPrivilegeEscalation: false
capabilities:
  drop: [ALL]
seccompProfile:
  type: RuntimeDefault
{{- end }}
{{- with .Values.seLinuxOptions }}
seLinuxOptions:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if and .Values.appArmorProfile (include "ascend-agent.appArmorField" .) }}
appArmorProfile:
  {{- if hasPrefix "Localhost/" .Values.appArmorProfile }}
  type: Localhost
  localhostProfile: {{ trimPrefix "Localhost/" .Values.appArmorProfile }}
  {{- else }}
  type: {{ .Values.appArmorProfile }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "ascend-agent.hostPID" -}}
{{- if kindIs "bool" .Values.hostPID -}}
{{- .Values.hostPID -}}
{{- else -}}
{{- and (eq .Values.settings.driver "dcmi") (or .Values.settings.refuseHeld .Values.settings.hangDetection) -}}
{{- end -}}
{{- end -}}

{{/* The field came with Kubernetes 1.30; before it there was an annotation. */}}
{{- define "ascend-agent.appArmorField" -}}
{{- if semverCompare ">=1.30.0-0" .Capabilities.KubeVersion.Version }}true{{ end -}}
{{- end -}}

{{- define "ascend-agent.appArmorAnnotation" -}}
{{- if and .Values.appArmorProfile (not (include "ascend-agent.appArmorField" .)) -}}
{{- $known := dict "Unconfined" "unconfined" "RuntimeDefault" "runtime/default" -}}
{{- $old := printf "localhost/%s" (trimPrefix "Localhost/" .Values.appArmorProfile) -}}
container.apparmor.security.beta.kubernetes.io/agent: {{ default $old (get $known .Values.appArmorProfile) }}
{{- end -}}
{{- end -}}

{{- define "ascend-agent.scc" -}}
{{- if .Values.openshiftScc -}}
{{- .Values.openshiftScc -}}
{{- else if eq .Values.kubeletLayout "openshift" -}}
privileged
{{- end -}}
{{- end -}}
