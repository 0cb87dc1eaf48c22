import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import * as asn1js from 'asn1js'
import type { Extension } from 'pkijs'
import { certificateToPem } from '../../../adapters/local-tsa/certificates.ts'
import { parseCertificate } from '../../../core/verify/tokens/certificate.ts'
import { buildPath } from '../../../core/verify/tokens/path.ts'
import { SignatureBudget } from '../../../core/verify/untrusted.ts'
import { skipWithoutOpenssl } from '../../support/openssl.ts'
import { temporaryFor } from '../../support/temporary.ts'
import { authorityNamed, certificate, derOf, extension, keyPair, signerUnder } from '../../support/test-authority.ts'

/** Values of extensions of an intermediate, all critical (RFC 5280 § 4.2.1.5, § 4.2.1.11 and § 4.2.1.14). */

const oid = (value: string): asn1js.ObjectIdentifier => new asn1js.ObjectIdentifier({ value })
const sequence = (...value: readonly asn1js.BaseBlock[]): asn1js.Sequence => new asn1js.Sequence({ value: [...value] })
const tagged = (tagNumber: number, byte: number): asn1js.Primitive =>
  new asn1js.Primitive({ idBlock: { tagClass: 3, tagNumber }, valueHex: Uint8Array.of(byte).buffer })
const requireExplicitPolicy = (after: number): Extension => extension('2.5.29.36', true, sequence(tagged(0, after)))
const policies = extension('2.5.29.32', true, sequence(sequence(oid('1.2.3'))))
const mappings = extension('2.5.29.33', true, sequence(sequence(oid('1.2.3'), oid('1.2.4'))))

const CASES: Readonly<Record<string, readonly Extension[]>> = {
  none: [],
  'requireExplicitPolicy:3': [requireExplicitPolicy(3)],
  'requireExplicitPolicy:0, without a policy': [requireExplicitPolicy(0)],
  'requireExplicitPolicy:0, a policy that is mapped': [requireExplicitPolicy(0), policies, mappings],
  'inhibitPolicyMapping:0, a policy that is mapped': [
    extension('2.5.29.36', true, sequence(tagged(1, 0))),
    policies,
    mappings,
  ],
  'inhibitAnyPolicy:0': [extension('2.5.29.54', true, new asn1js.Integer({ value: 0 }))],
  'policyConstraints of another type': [extension('2.5.29.36', true, new asn1js.Null())],
  'one that is not known': [extension('1.2.3', true, new asn1js.Null())],
}

describe('a critical extension of an intermediate decides as with openssl', { skip: skipWithoutOpenssl() }, () => {
  for (const [what, extensions] of Object.entries(CASES))
    it(what, async (t) => {
      const directory = await temporaryFor(t)
      const root = await authorityNamed('root')
      const keys = await keyPair('P-256', 'intermediate')
      const options = { name: 'intermediate', keys, issuer: root, authority: {}, keyUsage: 0x04, extensions }
      const issuer = { keys, certificate: await certificate(options) }
      const signer = await signerUnder(issuer)
      const [anchor, middle, leaf] = [root, issuer, signer].map((one) => derOf(one.certificate)) as [
        Uint8Array,
        Uint8Array,
        Uint8Array,
      ]
      const pathOf = async (der: Uint8Array, name: string): Promise<string> => {
        const path = join(directory, name)
        await writeFile(path, certificateToPem(der))
        return path
      }
      const files = [await pathOf(anchor, 'root'), await pathOf(middle, 'middle'), await pathOf(leaf, 'leaf')] as const
      const args = ['verify', '-purpose', 'timestampsign', '-CAfile', files[0], '-untrusted', files[1], files[2]]
      const { status, stderr } = spawnSync('openssl', args, { encoding: 'utf8' })
      const build = () =>
        buildPath({
          signer: parseCertificate(leaf),
          candidates: [parseCertificate(middle)],
          anchors: [parseCertificate(anchor)],
          time: Date.now(),
          budget: new SignatureBudget(),
        })
      if (status === 0) assert.equal(build().length, 3)
      else assert.throws(build, { rule: 'certificate.unusable' }, stderr)
      assert.equal(status === 0, what !== 'one that is not known', stderr)
    })
})
