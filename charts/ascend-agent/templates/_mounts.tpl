{{/*
What the container sees of the host, as [name, path on the host, path in the container, read-only,
propagation]. Host paths are made where they are missing: a pod that hangs in ContainerCreating
tells less than an agent that says what it can't find.
*/}}

{{- define "ascend-agent.mounts" -}}
{{- $kubelet := include "ascend-agent.kubeletDir" . -}}
{{- $hardware := include "ascend-agent.hardware" . -}}
mounts:
  # Our socket is made here, and the kubelet's is watched: the folder, since the socket is replaced.
  - {name: device-plugins, host: "{{ include "ascend-agent.devicePluginDir" . }}"}
  # Who holds which NPU.
  - {name: pod-resources, host: "{{ $kubelet }}/pod-resources", readOnly: true}
  # The lock that lets one agent serve a node.
  - {name: run, host: "{{ .Values.settings.runDir }}"}
  # What must outlive a restart.
  - {name: state, host: "{{ .Values.settings.stateDir }}"}
  # Folders, not files: a file that is replaced would stay the old one here. Each folder once: two
  # mounts at one place are refused.
  {{- $folders := list }}
  {{- with .Values.settings.faultConfigDir }}
  {{- $folders = append $folders . }}
  - {name: fault-config, host: "{{ . }}", readOnly: true}
  {{- end }}
  {{- with .Values.settings.hangConfig }}
  {{- if not (has (dir .) $folders) }}
  {{- $folders = append $folders (dir .) }}
  - {name: hang-config, host: "{{ dir . }}", readOnly: true}
  {{- end }}
  {{- end }}
  {{- if $hardware }}
  {{- with .Values.settings.dpuConfig }}
  {{- if not (has (dir .) $folders) }}
  - {name: dpu-config, host: "{{ dir . }}", readOnly: true}
  {{- end }}
  {{- end }}
  # The host's nodes as they are now, not as they were when the container started.
  - {name: dev, host: /dev, type: Directory}
  - {name: driver, host: "{{ .Values.driverDir }}", readOnly: true}
  {{- range $index, $dir := .Values.driverExtraDirs }}
  - {name: driver-{{ $index }}, host: "{{ $dir }}", readOnly: true}
  {{- end }}
  {{- with .Values.logDir }}
  - {name: log, host: "{{ . }}"}
  {{- end }}
  {{- end }}
  {{- if include "ascend-agent.looksAtHost" . }}
  # Which files a container needs of this host; what is mounted or unmounted there is followed.
  - {name: host, host: /, container: /host, readOnly: true, type: Directory, propagation: HostToContainer}
  {{- end }}
  {{- if include "ascend-agent.hami" . }}
  # Where soft slices keep their library, their containers' directories, and their turns.
  - {name: hami-root, host: "{{ .Values.settings.hamiRoot }}"}
  - {name: hami-shared-region, host: "{{ .Values.settings.hamiSharedRegion }}"}
  {{- if not .Values.hami.assetsImage }}
  - {name: hami-assets, host: "{{ .Values.hami.assetsDir }}", readOnly: true}
  {{- end }}
  {{- end }}
  {{- if eq .Values.settings.inject "cdi" }}
  - {name: cdi, host: "{{ .Values.settings.cdiDir }}"}
  {{- end }}
{{- end -}}

{{- define "ascend-agent.volumeMounts" -}}
{{- range (include "ascend-agent.mounts" . | fromYaml).mounts }}
- name: {{ .name }}
  mountPath: {{ default .host .container }}
  {{- if .readOnly }}
  readOnly: true
  {{- end }}
  {{- with .propagation }}
  mountPropagation: {{ . }}
  {{- end }}
{{- end }}
- name: tmp
  mountPath: /tmp
{{- if include "ascend-agent.scenario" . }}
- name: scenario
  mountPath: /etc/ascend-agent
  readOnly: true
{{- end }}
{{- if include "ascend-agent.hami" . }}
# Folders again, and not the files by subPath as HAMi's plugin has them: these are followed.
- name: hami-device-config
  mountPath: /etc/hami/device
  readOnly: true
- name: hami-node-config
  mountPath: /etc/hami/node
  readOnly: true
{{- if .Values.hami.assetsImage }}
- name: hami-assets
  mountPath: {{ .Values.hami.assetsDir }}
  readOnly: true
{{- end }}
{{- end }}
{{- end -}}

{{- define "ascend-agent.volumes" -}}
{{- range (include "ascend-agent.mounts" . | fromYaml).mounts }}
- name: {{ .name }}
  hostPath:
    path: {{ .host }}
    type: {{ default "DirectoryOrCreate" .type }}
{{- end }}
- name: tmp
  emptyDir:
    sizeLimit: 16Mi
{{- if include "ascend-agent.scenario" . }}
- name: scenario
  configMap:
    name: {{ include "ascend-agent.fullname" . }}-scenario
{{- end }}
{{- if include "ascend-agent.hami" . }}
# A ConfigMap that does not exist must not keep the pod from starting.
- name: hami-device-config
  configMap:
    name: {{ .Values.hami.deviceConfigMap }}
    optional: true
- name: hami-node-config
  configMap:
    name: {{ .Values.hami.nodeConfigMap }}
    optional: true
{{- if .Values.hami.assetsImage }}
- name: hami-assets
  emptyDir:
    sizeLimit: 128Mi
{{- end }}
{{- end }}
{{- end -}}

{{- define "ascend-agent.scenario" -}}
{{- if and .Values.settings.scenario (not (include "ascend-agent.hardware" .)) }}true{{ end -}}
{{- end -}}
