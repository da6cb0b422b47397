// etcd as one program: its own main, called from here so that Go's module cache is all we need.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
