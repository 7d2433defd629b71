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
{{- if .Values.metrics.enabled -}}
{{- $_ := set $config "admin_listen" "0.0.0.0:9090" -}}
{{- end -}}
{{- if .Values.tls.secretName -}}
{{- $http := default (dict) $config.http -}}
{{- $_ := set $http "tls" (dict "certificate" "/etc/wardian-tls/tls.crt" "key" "/etc/wardian-tls/tls.key") -}}
{{- $_ := set $config "http" $http -}}
{{- end -}}
{{- if .Values.fleet.enabled -}}
{{- $_ := set $config "database" (dict "url_file" "/etc/wardian-fleet/database.url") -}}
{{- $fleet := default (dict) $config.fleet -}}
{{- $_ := set $fleet "key_file" "/etc/wardian-fleet/fleet.key" -}}
{{- $_ := set $config "fleet" $fleet -}}
{{- $blobs := default (dict) $config.blobs -}}
{{- $_ := set $blobs "store" (required "fleet.store must be s3://BUCKET/PREFIX" .Values.fleet.store) -}}
{{- $_ := set $blobs "cache" .Values.fleet.cache -}}
{{- $_ := set $config "blobs" $blobs -}}
{{- end -}}
{{- if .Values.skills.volume -}}
{{- $skills := default (dict) $config.skills -}}
{{- $_ := set $skills "roots" (list "/srv/skills") -}}
{{- $_ := set $config "skills" $skills -}}
{{- end -}}
{{- $settings := dict "value" $config -}}
{{- include "wardian.integers" $settings -}}
{{ toToml $settings.value }}
{{- end -}}

{{/* Helm reads all numbers as floats, and TOML tells integers from floats: whole numbers in `.value`
become integers again, at any depth. Floats have exact integers up to 2^53. */}}
{{- define "wardian.integers" -}}
{{- $settings := . -}}
{{- $value := .value -}}
{{- if kindIs "map" $value -}}
{{- $whole := dict -}}
{{- range $key, $inner := $value -}}
{{- $held := dict "value" $inner -}}
{{- include "wardian.integers" $held -}}
{{- $_ := set $whole $key $held.value -}}
{{- end -}}
{{- $_ := set $settings "value" $whole -}}
{{- else if kindIs "slice" $value -}}
{{- $whole := list -}}
{{- range $inner := $value -}}
{{- $held := dict "value" $inner -}}
{{- include "wardian.integers" $held -}}
{{- $whole = append $whole $held.value -}}
{{- end -}}
{{- $_ := set $settings "value" $whole -}}
{{- else if kindIs "float64" $value -}}
{{- if and (eq (floor $value) $value) (le $value 9007199254740992.0) (ge $value -9007199254740992.0) -}}
{{- $_ := set $settings "value" (int64 $value) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The variables of the image are settings of Wardian, and stronger than its file. An empty one is
as good as none, also for `kubectl exec`. */}}
{{- define "wardian.environment" -}}
- {name: WARDIAN_CONFIG, value: /etc/wardian/config.toml}
- {name: WARDIAN_AUTH_MODE, value: ""}
- {name: WARDIAN_LISTEN, value: ""}
- {name: WARDIAN_DATA_DIR, value: ""}
- {name: WARDIAN_CACHE_DIR, value: ""}
- {name: WARDIAN_ENGINE_COMPILE_METERED, value: ""}
- {name: WARDIAN_ENGINE_CPU, value: ""}
- {name: WARDIAN_LOG_FORMAT, value: ""}
- {name: WARDIAN_WORKERS_REQUIRE_LOCKDOWN, value: ""}
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
