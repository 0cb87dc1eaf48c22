import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { kernelBinary } from '../../../sealer/kernel/binary.ts'
import { assembleKernel, binarySource } from '../../../sealer/kernel/wat/assemble.ts'

describe('the kernel as it is built', () => {
  it('is published as a module that gives the assembled bytes', async () => {
    const binary = await assembleKernel()
    const url = `data:text/javascript;base64,${Buffer.from(binarySource(binary)).toString('base64')}`
    const published = (await import(url)) as { kernelBinary(): Promise<Uint8Array> }
    assert.deepEqual(await published.kernelBinary(), new Uint8Array(binary))
    // And what this run loads is what the text says now.
    assert.deepEqual(new Uint8Array(await kernelBinary()), new Uint8Array(binary))
  })

  it('loads without Node and without the assembler: no module that the loader imports imports one of theirs', async () => {
    const isSource = import.meta.url.endsWith('.ts')
    const seen = new Set<string>()
    const visit = async (url: URL): Promise<void> => {
      if (seen.has(url.href)) return
      seen.add(url.href)
      const text = await readFile(url, 'utf8')
      // Run from source, the binary is assembled: the one dynamic import, which a build replaces.
      if (!isSource) assert.doesNotMatch(text, /\bimport\(/)
      for (const [, from, bare] of text.matchAll(/^(?:import|export) .*?from '(.*?)'|^import '(.*?)'/gm)) {
        const specifier = from ?? bare ?? ''
        assert.match(specifier, /^\.\.?\//, `${url.pathname} imports ${specifier}`)
        await visit(new URL(specifier, url))
      }
    }
    await visit(new URL(`../../../sealer/kernel/kernel.${isSource ? 'ts' : 'js'}`, import.meta.url))
    assert.ok(seen.size >= 6, `only ${seen.size} modules were looked at`)
  })
})
