/**
 * Returns the assembled kernel. This version runs from source and assembles it. In a build, `wat/build.ts` replaces the
 * compiled module with one that contains the bytes.
 */
export async function kernelBinary(): Promise<Uint8Array> {
  const { assembleKernel } = await import('./wat/assemble.ts')
  return assembleKernel()
}
