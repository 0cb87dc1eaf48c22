import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { uiModule } from '../../support/ui-module.ts'

let ui: { reachOf(url: string): string | undefined }

describe('the reach of an address', () => {
  before(async () => {
    ui = await uiModule('public-url.ts')
  })

  it('is one computer, one network, or everywhere', () => {
    const cases: readonly (readonly [string, string | undefined])[] = [
      ['localhost:8080', 'computer'],
      ['127.0.0.1', 'computer'],
      ['0x7f.1', 'computer'],
      ['[::1]:3000', 'computer'],
      ['[::ffff:127.0.0.1]', 'computer'],
      ['10.1.2.3', 'network'],
      ['172.31.0.1', 'network'],
      ['192.168.1.20', 'network'],
      ['[fd00::1]', 'network'],
      ['[fe80::1]', 'network'],
      ['nas.local', 'network'],
      ['registry', 'network'],
      ['172.32.0.1', undefined],
      ['10.example', undefined],
      ['[2001:db8::1]', undefined],
      ['evidence.example', undefined],
    ]
    for (const [host, reach] of cases) assert.equal(ui.reachOf(`http://${host}/ui/`), reach, host)
  })
})
