#!/bin/sh
echo "setting up $GC_SESSION"
