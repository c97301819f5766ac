package config

// checker judges the values of a decoded city.
type checker struct {
	city  *City
	known Known
	stat  statFunc // nil: files are not looked at
	errs  []*Error
}

func (c *checker) check() {}
