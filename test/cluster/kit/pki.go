package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// lifetime of the certificates: a cluster lives for one run of the tests.
const lifetime = 24 * time.Hour

// authority signs everything of one cluster.
type authority struct {
	dir    string
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	serial int64
	nodes  []net.IP
}

// identity is somebody who is known to the cluster.
type identity struct {
	file, name string
	groups     []string
	serves     bool // answers by TLS
	config     bool // gets a kubeconfig
}

func makePKI(args []string) error {
	if len(args) < 3 {
		return errors.New("pki takes a folder, the server's address and one for each node")
	}
	server, nodes := args[1], args[2:]
	a, err := newAuthority(args[0])
	if err != nil {
		return err
	}
	ids := []identity{
		{file: "apiserver", name: "kube-apiserver", serves: true},
		{file: "apiserver-kubelet-client", name: "kube-apiserver-kubelet-client", groups: []string{"system:masters"}},
		{file: "admin", name: "admin", groups: []string{"system:masters"}, config: true},
		{file: "kube-controller-manager", name: "system:kube-controller-manager", config: true},
		{file: "kube-scheduler", name: "system:kube-scheduler", config: true},
		// A user without a role: the tests give it one, and see what it may not do.
		{file: "nobody", name: "nobody", config: true},
	}
	for i, node := range nodes {
		file := "kubelet"
		if i > 0 {
			file += fmt.Sprint(i + 1)
		}
		ids = append(ids, identity{file: file, name: "system:node:" + node, groups: []string{"system:nodes"}, serves: true, config: true})
		a.nodes = append(a.nodes, net.ParseIP(node))
	}
	for _, id := range ids {
		if err := a.issue(id); err != nil {
			return fmt.Errorf("certificate of %s: %w", id.name, err)
		}
		if !id.config {
			continue
		}
		if err := a.kubeconfig(id.file, server); err != nil {
			return err
		}
	}
	return a.signingKey()
}

func newAuthority(dir string) (*authority, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	a := &authority{dir: dir, serial: 1}
	if a.key, err = a.newKey("ca"); err != nil {
		return nil, err
	}
	template := a.template("test authority")
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage |= x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	return a, a.write("ca.crt", "CERTIFICATE", der, 0o644)
}

func (a *authority) template(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(a.serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    now.Add(-time.Hour), // the clocks of components may differ
		NotAfter:     now.Add(lifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
	}
}

func (a *authority) issue(id identity) error {
	key, err := a.newKey(id.file)
	if err != nil {
		return err
	}
	a.serial++
	template := a.template(id.name)
	template.Subject.Organization = id.groups
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if id.serves {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		template.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"}
		template.IPAddresses = append([]net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, net.IPv4(10, 96, 0, 1)}, a.nodes...)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return err
	}
	return a.write(id.file+".crt", "CERTIFICATE", der, 0o644)
}

func (a *authority) newKey(file string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, a.write(file+".key", "EC PRIVATE KEY", der, 0o600)
}

// signingKey makes the key of service accounts' tokens.
func (a *authority) signingKey() error {
	key, err := a.newKey("sa")
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	return a.write("sa.pub", "PUBLIC KEY", public, 0o644)
}

func (a *authority) kubeconfig(file, server string) error {
	at := func(name string) string { return filepath.Join(a.dir, name) }
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: test, user: test}}]
clusters: [{name: test, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: test, user: {client-certificate: %q, client-key: %q}}]
`, server, at("ca.crt"), at(file+".crt"), at(file+".key"))
	return os.WriteFile(at(file+".kubeconfig"), []byte(text), 0o600)
}

func (a *authority) write(name, kind string, der []byte, mode fs.FileMode) error {
	return os.WriteFile(filepath.Join(a.dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), mode)
}
