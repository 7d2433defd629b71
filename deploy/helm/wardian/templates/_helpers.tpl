{{- define "wardian.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "wardian.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "wardian.labels" -}}
{{ include "wardian.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "wardian.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* The settings of the operator, with those that the pod decides. */}}
{{- define "wardian.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- $_ := set $config "listen" "0.0.0.0:8080" -}}
{{- $_ := set $config "data_dir" "/var/lib/wardian/data" -}}
{{- $_ := set $config "cache_dir" "/var/cache/wardian/cache" -}}
{{- if .Values.tls.secretName -}}
{{- $http := default (dict) $config.http -}}
{{- $_ := set $http "tls" (dict "certificate" "/etc/wardian-tls/tls.crt" "key" "/etc/wardian-tls/tls.key") -}}
{{- $_ := set $config "http" $http -}}
{{- end -}}
{{- if .Values.skills.volume -}}
{{- $skills := default (dict) $config.skills -}}
{{- $_ := set $skills "roots" (list "/srv/skills") -}}
{{- $_ := set $config "skills" $skills -}}
{{- end -}}
{{ toToml $config }}
{{- end -}}

{{- define "wardian.probe" -}}
httpGet:
  path: {{ .path }}
  port: http
  scheme: {{ if .root.Values.tls.secretName }}HTTPS{{ else }}HTTP{{ end }}
{{- end -}}

{{- define "wardian.container-security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
capabilities:
  drop: [ALL]
seccompProfile:
  type: RuntimeDefault
{{- end -}}
