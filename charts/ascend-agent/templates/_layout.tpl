{{/*
Where things are on the host. --root-dir of the kubelet moves pod-resources and never the
device-plugin directory, so each layout names both.
*/}}

{{- define "ascend-agent.layouts" -}}
kubeadm: {kubeletDir: /var/lib/kubelet, devicePluginDir: /var/lib/kubelet/device-plugins}
k3s: {kubeletDir: /var/lib/kubelet, devicePluginDir: /var/lib/kubelet/device-plugins}
rke2: {kubeletDir: /var/lib/kubelet, devicePluginDir: /var/lib/kubelet/device-plugins}
openshift: {kubeletDir: /var/lib/kubelet, devicePluginDir: /var/lib/kubelet/device-plugins}
rke: {kubeletDir: /var/lib/kubelet, devicePluginDir: /var/lib/kubelet/device-plugins}
rke-opt: {kubeletDir: /opt/rke/var/lib/kubelet, devicePluginDir: /opt/rke/var/lib/kubelet/device-plugins}
k0s: {kubeletDir: /var/lib/k0s/kubelet, devicePluginDir: /var/lib/kubelet/device-plugins}
microk8s: {kubeletDir: /var/snap/microk8s/common/var/lib/kubelet, devicePluginDir: /var/lib/kubelet/device-plugins}
{{- end -}}

{{- define "ascend-agent.kubeletDir" -}}
{{- $layout := index (include "ascend-agent.layouts" . | fromYaml) .Values.kubeletLayout -}}
{{- default $layout.kubeletDir .Values.settings.kubeletDir | trimSuffix "/" -}}
{{- end -}}

{{- define "ascend-agent.devicePluginDir" -}}
{{- $layout := index (include "ascend-agent.layouts" . | fromYaml) .Values.kubeletLayout -}}
{{- default $layout.devicePluginDir .Values.settings.devicePluginDir | trimSuffix "/" -}}
{{- end -}}

{{/* Whether the vendor's library is used: "true" or "". */}}
{{- define "ascend-agent.hardware" -}}
{{- if eq .Values.settings.driver "dcmi" }}true{{ end -}}
{{- end -}}

{{/* The scheduler that decides: HAMi's in the place of HAMi's plugin, unless another is named. */}}
{{- define "ascend-agent.dialect" -}}
{{- $byPlace := ternary "hami" "plain" (eq .Values.replaces "hami") -}}
{{- $dialect := default $byPlace .Values.settings.dialect -}}
{{- if and (eq $dialect "hami") (not .Values.useApiServer) -}}
{{- fail "settings.dialect: hami needs the API server, where its scheduler writes what a pod gets: leave useApiServer on, or set settings.dialect to plain" -}}
{{- end -}}
{{- $dialect -}}
{{- end -}}

{{/* Whether HAMi's scheduler decides: "true" or "". */}}
{{- define "ascend-agent.hami" -}}
{{- if eq (include "ascend-agent.dialect" .) "hami" }}true{{ end -}}
{{- end -}}

{{/* Whether the DPU NICs of the host are watched: "true" or "". */}}
{{- define "ascend-agent.watchesDpus" -}}
{{- if and .Values.settings.dpuConfig (include "ascend-agent.hardware" .) }}true{{ end -}}
{{- end -}}

{{/*
Whether the agent itself looks at the host's files: not where the container runtime does it, unless
it may hand a soft slice's mounts to it. The pod's own /sys shows the pod's interfaces; below the
host's root it is that of the host.
*/}}
{{- define "ascend-agent.looksAtHost" -}}
{{- $byRuntime := or (eq .Values.settings.inject "runtime") (and (eq .Values.settings.inject "auto") .Values.settings.dockerRuntime) -}}
{{- if or (not $byRuntime) (include "ascend-agent.hami" .) (include "ascend-agent.watchesDpus" .) }}true{{ end -}}
{{- end -}}

{{- define "ascend-agent.privileged" -}}
{{- if kindIs "bool" .Values.privileged -}}
{{- if .Values.privileged }}true{{ end -}}
{{- else -}}
{{- include "ascend-agent.hardware" . -}}
{{- end -}}
{{- end -}}

{{- define "ascend-agent.port" -}}
{{- regexFind "[0-9]+$" .Values.settings.http -}}
{{- end -}}

{{/* Its name: what monitors of HAMi's plugin ask for, where HAMi's scheduler decides. */}}
{{- define "ascend-agent.portName" -}}
{{- ternary "monitorport" "http" (eq (include "ascend-agent.hami" .) "true") -}}
{{- end -}}

{{/*
Where the worker finds the vendor's libraries: the driver's three folders, then the extra ones. Not
LD_LIBRARY_PATH of the container, by which the agent would load the driver's libraries for its own.
*/}}
{{- define "ascend-agent.libraryPath" -}}
{{- $lib := printf "%s/lib64" (trimSuffix "/" .Values.driverDir) -}}
{{- concat (list $lib (printf "%s/driver" $lib) (printf "%s/common" $lib)) (default list .Values.driverExtraDirs) | join ":" -}}
{{- end -}}
