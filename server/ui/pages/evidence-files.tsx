import type { FileEntry, FileListing } from '../../client/index.ts'
import { Dialog, DialogButton, FormDialog, openDialog } from '../components/dialog.tsx'
import { useForm } from '../components/use-form.ts'
import { Icon } from '../components/icon.tsx'
import { Card, Failure, WhenLoaded } from '../components/notice.tsx'
import { Thumb } from '../components/thumb.tsx'
import type { Loading } from '../components/use-load.ts'
import { insteadOf } from '../failure.ts'
import { formatBytes, formatDate, saveFile } from '../format.ts'
import { hasLevel, useSession } from '../session.ts'
import * as texts from '../texts/index.ts'
import { FileImage, FileText, isText } from './file-preview.tsx'
import { forgetLeftList } from './use-evidences.ts'

export interface EvidenceFilesProps {
  readonly externalId: string
  readonly files: Loading<FileListing>
  /** A file was deleted, so there is a new event. */
  readonly onChange: () => unknown
}

/** A file, and of what it is if it is not the evidence's own. */
interface ShownFile {
  readonly file: FileEntry
  readonly origin?: string
}

const isPhoto = ({ file }: ShownFile): boolean => file.mimeType.startsWith('image/')

/** All files that the page shows. */
export const allOf = ({ dt, category, subcategory }: FileListing): readonly ShownFile[] => [
  ...dt.map((file) => ({ file })),
  ...category.map((file) => ({ file, origin: texts.evidence.ofCategory })),
  ...subcategory.map((file) => ({ file, origin: texts.evidence.ofSubcategory })),
]

/** The photos as photos, and the other files, of an evidence, its category and its subcategory. */
export function EvidenceFiles({ externalId, files, onChange }: EvidenceFilesProps) {
  const t = texts.evidence
  const actions = { evidenceId: externalId, onChange }
  return (
    <Card title={t.files} id="photos">
      <WhenLoaded of={files}>
        {(listed) => {
          const all = allOf(listed)
          if (all.length === 0) return <p class="muted">{t.noFiles}</p>
          return (
            <>
              <div class="grid photos">
                {all.filter(isPhoto).map((each) => (
                  <PhotoItem key={each.file.overlayId} {...each} {...actions} />
                ))}
              </div>
              <ul class="lines">
                {all
                  .filter((each) => !isPhoto(each))
                  .map((each) => (
                    <FileItem key={each.file.overlayId} {...each} {...actions} />
                  ))}
              </ul>
            </>
          )
        }}
      </WhenLoaded>
    </Card>
  )
}

interface FileProps {
  readonly file: FileEntry
  readonly evidenceId: string
  readonly onChange: () => unknown
}

type ItemProps = ShownFile & FileProps

/** A photo, which opens large. */
const PhotoItem = ({ origin, ...props }: ItemProps) => (
  <figure>
    <button
      class="photo-button"
      aria-label={`${texts.evidence.preview}: ${props.file.name}`}
      onClick={() => openDialog(<Viewer {...props} />)}
    >
      <Thumb file={{ id: props.file.overlayId, mimeType: props.file.mimeType }} width={480} class="photo" />
    </button>
    <figcaption class="tiny muted">
      <b class="cut">
        <bdi>{props.file.title}</bdi>
      </b>
      {origin}
    </figcaption>
  </figure>
)

/** A file with what can be done with it. */
function FileItem({ origin, ...props }: ItemProps) {
  const { name, mimeType, size, createdAt } = props.file
  return (
    <li>
      <span class="thumb">
        <Icon name="file" />
      </span>
      <div class="text">
        <b class="cut">
          <bdi>{name}</bdi>
        </b>
        <span class="small muted cut">
          {mimeType}, {formatBytes(size)}, {formatDate(createdAt)} {origin}
        </span>
      </div>
      <FileActions {...props} canShow={isText(mimeType)} />
    </li>
  )
}

/** Download, show, delete. Files of categories, whose event is 0, are deleted there. */
function FileActions({ canShow = false, ...props }: FileProps & { readonly canShow?: boolean }) {
  const t = texts.evidence
  const session = useSession()
  const form = useForm({})
  const { overlayId: fileId, name, eventId } = props.file
  const download = async (): Promise<void> =>
    saveFile(await (await session.client.downloadFile({ fileId })).blob(), name)
  return (
    <span class="row">
      {form.error !== undefined && <Failure error={form.error} />}
      {canShow && <DialogButton text={t.preview} name={name} dialog={<Viewer {...props} />} />}
      <button onClick={() => void form.run(download)} aria-label={`${t.download}: ${name}`}>
        {t.download}
      </button>
      {eventId > 0 && hasLevel(session, 'U') && (
        <DialogButton text={texts.remove} name={name} dialog={<DeleteDialog {...props} />} isDanger />
      )}
    </span>
  )
}

/** A photo or a text, as large as the window allows. */
function Viewer(props: FileProps) {
  const { overlayId: fileId, name, title, mimeType } = props.file
  return (
    <Dialog title={title} isLarge>
      {isText(mimeType) ? <FileText fileId={fileId} /> : <FileImage fileId={fileId} label={name} />}
      <FileActions {...props} />
    </Dialog>
  )
}

/** Asks before bytes are destroyed for good. */
function DeleteDialog({ file: { name, overlayId: fileId }, evidenceId, onChange }: FileProps) {
  const { client } = useSession()
  const remove = async (): Promise<void> => {
    // If it is gone already, the response to the same request was lost, or somebody else deleted it.
    await client.deleteFile({ fileId, evidenceId }).catch(insteadOf('FILE_NOT_FOUND', undefined))
    forgetLeftList(client)
  }
  return (
    <FormDialog
      title={texts.evidence.deleteTitle(name)}
      intro={texts.evidence.deleteIntro}
      form={useForm({})}
      action={remove}
      submitText={texts.remove}
      isDanger
      onDone={onChange}
    />
  )
}
