import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { kernelBinary } from '../../../sealer/kernel/binary.ts'
import { moduleUrl } from '../../support/repository.ts'
import { assembleKernel, binarySource } from '../../../sealer/kernel/wat/assemble.ts'

describe('the built kernel', () => {
  it('is published as a module that returns the assembled bytes', async () => {
    const binary = await assembleKernel()
    const url = `data:text/javascript;base64,${Buffer.from(binarySource(binary)).toString('base64')}`
    const published = (await import(url)) as { kernelBinary(): Promise<Uint8Array> }
    assert.deepEqual(await published.kernelBinary(), new Uint8Array(binary))
    // The kernel that this run loads was assembled from the present text.
    assert.deepEqual(new Uint8Array(await kernelBinary()), new Uint8Array(binary))
  })

  it('loads without Node and without the assembler: the loader imports only relative modules', async () => {
    const kernel = moduleUrl('sealer/kernel/kernel.ts')
    const visited = new Set<string>()
    const visit = async (url: URL): Promise<void> => {
      if (visited.has(url.href)) return
      visited.add(url.href)
      const text = await readFile(url, 'utf8')
      // A run from source assembles the binary. That is the only dynamic import, and a build replaces it.
      if (kernel.href.endsWith('.js')) assert.doesNotMatch(text, /\bimport\(/)
      for (const [, from, bare] of text.matchAll(/^(?:import|export) .*?from '(.*?)'|^import '(.*?)'/gm)) {
        const specifier = from ?? bare ?? ''
        assert.match(specifier, /^\.\.?\//, `${url.pathname} imports ${specifier}`)
        await visit(new URL(specifier, url))
      }
    }
    await visit(kernel)
    assert.ok(visited.size >= 4, `only ${visited.size} modules were checked`)
  })
})
