package agent

// The beginnings of the secret tokens that gc makes. A token is recognized by its beginning
// wherever it stands, also long after the run that it was made for: package redact masks all
// of them. Tokens of earlier versions have none of these beginnings and stay valid.
const (
	InstanceTokenPrefix = "gci_" // followed by 26 characters of base32
	WorkerTokenPrefix   = "gcw_" // followed by 43 characters of base64url
	OwnerTokenPrefix    = "gco_" // followed by 26 characters of base32
)
