{{/* The agent's arguments: every setting by its option's name, so that the pod shows them all. */}}

{{- define "ascend-agent.arguments" -}}
{{- $given := omit .Values.settings "dockerRuntime" "scenario" -}}
{{- if include "ascend-agent.hardware" . -}}
{{- $given = omit $given "chip" "npus" "seed" -}}
{{- else -}}
{{- $given = omit $given "library" "allowUnsafeLibrary" -}}
{{- if .Values.settings.scenario -}}
{{- $given = merge (dict "scenario" "/etc/ascend-agent/scenario.yaml") $given -}}
{{- end -}}
{{- end -}}
{{- if not .Values.useApiServer -}}
{{- $given = omit $given "nodeLabels" "relaxTls" -}}
{{- end -}}
{{- $given = merge (dict "kubeletDir" (include "ascend-agent.kubeletDir" .) "devicePluginDir" (include "ascend-agent.devicePluginDir" .)) $given -}}
{{- if include "ascend-agent.looksAtHost" . -}}
{{- $given = merge (dict "hostRoot" "/host") $given -}}
{{- end -}}
{{- range $name := keys $given | sortAlpha }}
{{- $value := index $given $name }}
{{- if not (kindIs "invalid" $value) }}
{{- /* A whole number of YAML is a float here, and would be written 1e+06. */}}
{{- if and (kindIs "float64" $value) (eq $value (floor $value)) }}{{ $value = int64 $value }}{{ end }}
- {{ printf "--%s=%v" (kebabcase $name) $value | quote }}
{{- end }}
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}
