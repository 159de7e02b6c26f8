{{- define "dovemq.pod" -}}
{{- $shared := not (empty .Values.store.secret) -}}
metadata:
  labels:
    {{- include "dovemq.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  # A Service named dovemq would otherwise set variables such as DOVEMQ_PORT.
  enableServiceLinks: false
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: {{ add .Values.leaveSeconds .Values.drainSeconds 20 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 10001
    runAsGroup: 10001
    fsGroup: 10001
    # Otherwise each start would open the files of the store to the group, which DoveMQ refuses.
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if $shared }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "dovemq.selector" . | nindent 10 }}
  {{- end }}
  {{- if .Values.secret }}
  initContainers:
    # The key must be a file of the data directory that nobody else can read.
    - name: root-key
      image: {{ include "dovemq.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      command:
        - sh
        - -c
        - >-
          install -d -m 700 /var/lib/dovemq/data &&
          install -m 600 /etc/dovemq/secret/root-key.json /var/lib/dovemq/data/root-key.json
      securityContext:
        {{- include "dovemq.confined" . | nindent 8 }}
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - name: data
          mountPath: /var/lib/dovemq
        - name: secret
          mountPath: /etc/dovemq/secret
          readOnly: true
  {{- end }}
  containers:
    - name: dovemq
      image: {{ include "dovemq.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args:
        - serve
        {{- if $shared }}
        - --advertise={{ if .Values.ipv6 }}[$(POD_IP)]{{ else }}$(POD_IP){{ end }}:{{ .Values.linkPort }}
        - --cluster-secret-file=/etc/dovemq/secret/cluster-secret
        {{- end }}
      env:
        - name: DOVEMQ_HOST
          value: {{ if .Values.ipv6 }}"::"{{ else }}0.0.0.0{{ end }}
        - name: DOVEMQ_DATA
          value: /var/lib/dovemq/data
        - name: DOVEMQ_PORT
          value: "9324"
        - name: DOVEMQ_ADMIN_PORT
          value: "9325"
        - name: DOVEMQ_LEAVE_SECONDS
          value: {{ .Values.leaveSeconds | quote }}
        - name: DOVEMQ_DRAIN_SECONDS
          value: {{ .Values.drainSeconds | quote }}
        {{- if .Values.serviceMonitor.enabled }}
        - name: DOVEMQ_METRICS_OPEN
          value: "true"
        {{- end }}
        {{- if .Values.tls.secret }}
        - name: DOVEMQ_TLS_CERTIFICATE
          value: /etc/dovemq/tls/tls.crt
        - name: DOVEMQ_TLS_KEY
          value: /etc/dovemq/tls/tls.key
        {{- end }}
        {{- if $shared }}
        - name: DOVEMQ_STORE
          valueFrom:
            secretKeyRef:
              name: {{ .Values.store.secret }}
              key: url
        - name: POD_IP
          valueFrom:
            fieldRef:
              fieldPath: status.podIP
        {{- end }}
        {{- range $name, $value := .Values.settings }}
        - name: DOVEMQ_{{ $name | replace "." "_" | upper }}
          value: {{ kindIs "string" $value | ternary $value (toJson $value) | quote }}
        {{- end }}
      ports:
        - name: sqs
          containerPort: 9324
        - name: admin
          containerPort: 9325
        {{- if $shared }}
        - name: link
          containerPort: {{ .Values.linkPort }}
        {{- end }}
      startupProbe:
        httpGet:
          path: /health/live
          port: admin
          scheme: {{ include "dovemq.scheme" . | upper }}
        periodSeconds: 5
        failureThreshold: {{ div .Values.startSeconds 5 }}
      livenessProbe:
        httpGet:
          path: /health/live
          port: admin
          scheme: {{ include "dovemq.scheme" . | upper }}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet:
          path: /health/ready
          port: admin
          scheme: {{ include "dovemq.scheme" . | upper }}
        periodSeconds: 2
        timeoutSeconds: 2
        failureThreshold: 2
      securityContext:
        {{- include "dovemq.confined" . | nindent 8 }}
      resources:
        {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - name: data
          mountPath: /var/lib/dovemq
        - name: tmp
          mountPath: /tmp
        {{- if .Values.secret }}
        - name: secret
          mountPath: /etc/dovemq/secret
          readOnly: true
        {{- end }}
        {{- if .Values.tls.secret }}
        - name: tls
          mountPath: /etc/dovemq/tls
          readOnly: true
        {{- end }}
  volumes:
    - name: tmp
      emptyDir: {}
    {{- if $shared }}
    # The messages are in the database; this holds the audit log, which ends with the pod.
    - name: data
      emptyDir: {}
    {{- end }}
    {{- with .Values.secret }}
    - name: secret
      secret:
        secretName: {{ . }}
        defaultMode: 0440
    {{- end }}
    {{- with .Values.tls.secret }}
    - name: tls
      secret:
        secretName: {{ . }}
        defaultMode: 0440
    {{- end }}
{{- end -}}

{{- define "dovemq.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}
