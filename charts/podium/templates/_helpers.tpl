{{/* The name of all objects: the release's, with the chart's unless it is in it already. */}}
{{- define "podium.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $default := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- default $default .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{/* The name of objects of the whole cluster, where releases of one name in two namespaces meet. */}}
{{- define "podium.clusterName" -}}
{{ .Release.Namespace }}:{{ include "podium.fullname" . }}
{{- end }}

{{- define "podium.serviceAccountName" -}}
{{- default (ternary (include "podium.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end }}

{{- define "podium.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "podium.labels" -}}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{ include "podium.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: scheduler
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "podium.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ default $.Chart.AppVersion .tag }}{{ end }}
{{- end -}}
{{- end }}
