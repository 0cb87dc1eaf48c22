/**
 * The assembled kernel. Run from source, as here, it is assembled anew; in a build, `wat/build.ts` has put its bytes in this
 * module's place.
 */
export async function kernelBinary(): Promise<Uint8Array> {
  const { assembleKernel } = await import('./wat/assemble.ts')
  return assembleKernel()
}
