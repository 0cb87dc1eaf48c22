import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { exif, PHOTO_WITH_PLACE } from '../../support/photo-with-place.ts'
import { uiModule } from '../../support/ui-module.ts'

let ui: {
  saysPlace(photo: ArrayBuffer): boolean
  placeIn(client: object, file: object): Promise<boolean | undefined>
}

const saysPlace = (photo: Buffer): boolean => ui.saysPlace(new Uint8Array(photo).buffer)

describe('the place in a photo', () => {
  before(async () => {
    ui = await uiModule('pages/photo-place.ts')
  })

  it('is found in EXIF and XMP data of any format, and not in photos without one', () => {
    const bigEndian = Buffer.from('4d4d002a00000008000188250004000000010000001a0000000000010002', 'hex')
    const cases: readonly (readonly [string, Buffer, boolean])[] = [
      ['JPEG', PHOTO_WITH_PLACE, true],
      ['at an odd offset of another format', Buffer.concat([Buffer.from('\x89PNG...'), exif(2)]), true],
      ['big-endian', Buffer.concat([bigEndian, Buffer.alloc(40)]), true],
      ['XMP', Buffer.from('<x exif:GPSLatitude="52,31.2N"/>'), true],
      ['a directory of places with a version only', exif(0), false],
      ['no EXIF data', Buffer.from('photo'), false],
    ]
    for (const [what, photo, expected] of cases) assert.equal(saysPlace(photo), expected, what)
  })

  it('is not known of a photo that cannot be read to its end', async () => {
    const file = { overlayId: '1', mimeType: 'image/jpeg', size: 1 }
    const broken = { downloadFile: () => Promise.reject(new Error('no')) }
    const cut = { downloadFile: () => Promise.resolve(new Response(new Uint8Array(exif(2).subarray(0, 20)))) }
    assert.deepEqual([await ui.placeIn(broken, file), await ui.placeIn(cut, file)], [undefined, undefined])
    assert.equal(await ui.placeIn(broken, { ...file, mimeType: 'image/heic', size: 1e9 }), undefined)
    assert.equal(await ui.placeIn(broken, { ...file, mimeType: 'text/plain' }), false)
  })
})
