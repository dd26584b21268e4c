{{/*
The agent's settings as environment variables, every one of them: `kubectl exec` then runs the
doctor, too, with the settings of the agent it judges. An option of an older plugin in extraArgs
wins over them.
*/}}

{{- define "ascend-agent.settings" -}}
{{- $given := omit .Values.settings "dockerRuntime" "scenario" -}}
{{- if include "ascend-agent.hardware" . -}}
{{- $given = omit $given "chip" "npus" "seed" -}}
{{- $given = merge (dict "libraryPath" (include "ascend-agent.libraryPath" .)) $given -}}
{{- else -}}
{{- $given = omit $given "library" "allowUnsafeLibrary" "dpuConfig" "hccnTool" "switchLibrary" -}}
{{- if .Values.settings.scenario -}}
{{- $given = merge (dict "scenario" "/etc/ascend-agent/scenario.yaml") $given -}}
{{- end -}}
{{- end -}}
{{- $given = merge (dict "dialect" (include "ascend-agent.dialect" .)) (omit $given "dialect") -}}
{{- if include "ascend-agent.hami" . -}}
{{- $given = merge (dict "deviceConfig" "/etc/hami/device/device-config.yaml" "nodeConfig" "/etc/hami/node/node-config.yaml" "hamiAssets" .Values.hami.assetsDir) $given -}}
{{- else -}}
{{- range $name := keys $given -}}
{{- if regexMatch "^(hami|vnpu)[A-Z]" $name }}{{ $given = omit $given $name }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if not .Values.useApiServer -}}
{{- $given = omit $given "nodeLabels" "nodeAnnotations" "relaxTls" "kubernetesEvents" "faultConfigMap" -}}
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
- name: ASCEND_AGENT_{{ snakecase $name | upper }}
  value: {{ printf "%v" $value | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "ascend-agent.arguments" -}}
- run
{{- $moved := dict "deviceConfig" "hami.deviceConfigMap" "nodeConfig" "hami.nodeConfigMap" "hamiAssets" "hami.assetsDir" }}
{{- /* Helm leaves out what is null by default. */}}
{{- $names := concat (keys .Values.settings) (list "dialect" "deviceConfig" "nodeConfig" "hamiAssets" "kubeletDir" "devicePluginDir" "library" "npus" "faultConfigDir" "faultConfigMap" "hangConfig" "dpuConfig" "switchLibrary") | uniq | sortAlpha }}
{{- range $argument := .Values.extraArgs }}
{{- range $name := $names }}
{{- if regexMatch (printf "^--?%s(=.*)?$" (kebabcase $name)) $argument }}
{{- $value := get $moved $name | default (printf "settings.%s" $name) }}
{{- fail (printf "extraArgs: %s is the value %s, which the rest of the pod follows; set that instead" $argument $value) }}
{{- end }}
{{- end }}
{{- if regexMatch "^--?(node_)?config_file(=.*)?$" $argument }}
{{- $value := ternary "hami.nodeConfigMap" "hami.deviceConfigMap" (contains "node_" $argument) }}
{{- fail (printf "extraArgs: %s is the value %s, which is mounted; set that instead" $argument $value) }}
{{- end }}
{{- if regexMatch "^--?(enable-healthz|healthz-address)(=.*)?$" $argument }}
{{- fail (printf "extraArgs: %s is the value settings.http, which the probes follow; set that instead" $argument) }}
{{- end }}
- {{ $argument | quote }}
{{- end }}
{{- end -}}
