package agent

// The prefixes of the secret tokens that gc creates. Package redact recognizes a token by its
// prefix in any text and masks it, also long after its run. Tokens of earlier versions have no
// prefix and stay valid.
const (
	InstanceTokenPrefix = "gci_" // followed by 26 characters of base32
	WorkerTokenPrefix   = "gcw_" // followed by 43 characters of base64url
	OwnerTokenPrefix    = "gco_" // followed by 26 characters of base32
)
