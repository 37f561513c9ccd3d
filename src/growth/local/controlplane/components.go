//go:build components

// Package controlplane exists so that one go.mod pins every program of a local control plane. It is never compiled:
// the imports only tell `go mod tidy` which main packages, and so which modules, go.mod and go.sum must cover.
package controlplane

import (
	_ "go.etcd.io/etcd/server/v3"
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubectl"
	_ "sigs.k8s.io/kwok/cmd/kwok"
)
